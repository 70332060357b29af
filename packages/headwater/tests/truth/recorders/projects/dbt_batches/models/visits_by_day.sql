{{ config(materialized='incremental', incremental_strategy='microbatch', event_time='visited_at', batch_size='day', begin='2026-11-26') }}
select id, visited_at,
  case when {{ var('bad', false) }} and visited_at::date = date '2026-11-27' then error('bad day') else 1 end as visit
from {{ source('web', 'visits') }}
