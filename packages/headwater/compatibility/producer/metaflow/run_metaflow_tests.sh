#!/bin/bash
# Run the scenarios and validate their events, in the folder producer/metaflow of the repository.
# usage: run_metaflow_tests.sh SPECS_FOLDER RELEASE [REPORT]     SPECS_FOLDER/RELEASE has the JSON schemas
set -euo pipefail

specs=$1 release=$2 report=${3:-../metaflow_producer_report.json}
output=$PWD/output
pip install -r runner/requirements.txt -r ../../scripts/requirements.txt
for scenario in scenarios/*/; do
  "$scenario/test/run.sh" "$output/$(basename "$scenario")"
done
version=$(python -c 'from importlib.metadata import version; print(version("metaflow"))')
python ../../scripts/validate_ol_events.py --event_base_dir="$output" --spec_base_dir="$specs" --producer_dir=.. \
  --component=metaflow --component_version="$version" --openlineage_version="$release" --target="$report"
