command -v kubectl || { echo 'no kubectl'; exit 77; }
