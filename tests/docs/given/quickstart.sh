# The page clones the project and shows it to Prometheus.
git -C "$PENSTOCK_ROOT" rev-parse || { echo 'no repository to clone'; exit 77; }
command -v prometheus || { echo 'no prometheus'; exit 77; }
