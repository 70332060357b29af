with by_hour as (
    select zone_id, ride_hour, sum(rides) as rides
    from {{ ref('stg_hourly_rides') }}
    group by zone_id, ride_hour
)

select zone_id, ride_hour, rides
from by_hour
qualify row_number() over (partition by zone_id order by rides desc, ride_hour) = 1
