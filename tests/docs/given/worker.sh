# A worker with a connector at work, certificate and key; for pages that look at
# what runs already.
deploy/examples/make_records.py orders.ndjson --records 1000
in_background worker.log penstock-worker --state-dir worker-state
printf '%s\n' 'name: shop' "workers: [{address: '127.0.0.1:7070'}]" \
  'connectors:' '  - name: orders' \
  "    source: {file: {path: '*.ndjson', follow: true}}" \
  '    format: {ndjson: {key: user.id}}' '    sink: {file: {path: out}}' \
  >shop.yaml
until curl -sf http://127.0.0.1:7071/readyz; do sleep 0.2; done
in_background run.log penstock run shop.yaml
until penstock checkpoints | grep orders; do sleep 0.2; done
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=worker \
  -keyout worker.key -out worker.pem
