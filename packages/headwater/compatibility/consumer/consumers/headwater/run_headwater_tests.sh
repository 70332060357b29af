#!/bin/bash
# Validate headwater, from the root of the repository. Options are passed on: --dump, --command.
set -euo pipefail

python consumer/consumers/headwater/validator/validator.py \
  --consumer_dir consumer/consumers/headwater \
  --scenario_dir consumer/scenarios \
  --target headwater-report.json "$@"
