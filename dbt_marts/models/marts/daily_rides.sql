select
    ride_date,
    zone_id,
    sum(rides) as rides,
    count(*) as hours_with_rides
from {{ ref('stg_hourly_rides') }}
group by ride_date, zone_id
