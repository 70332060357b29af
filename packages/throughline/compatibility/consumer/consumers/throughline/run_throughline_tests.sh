#!/bin/bash
# Validate throughline, from the root of the repository. Options are passed on: --dump, --command.
set -euo pipefail

python consumer/consumers/throughline/validator/validator.py \
  --consumer_dir consumer/consumers/throughline \
  --scenario_dir consumer/scenarios \
  --target throughline-report.json "$@"
