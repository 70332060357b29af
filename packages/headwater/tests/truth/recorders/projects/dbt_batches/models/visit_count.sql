select sum(visit) as visits from {{ ref('visits_by_day') }}
