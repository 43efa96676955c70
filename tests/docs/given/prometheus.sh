# A worker, and the directory of the page.
command -v promtool || { echo 'no promtool (package prometheus)'; exit 77; }
in_background worker.log penstock-worker --state-dir worker-state
until curl -sf http://127.0.0.1:7071/readyz; do sleep 0.2; done
cp deploy/prometheus/*.yaml .
