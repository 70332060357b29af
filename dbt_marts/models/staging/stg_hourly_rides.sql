with source as (
    select * from {{ source('nyc_taxi', 'hourly_actuals') }}
)

select
    datetime_hour,
    cast(datetime_hour as date) as ride_date,
    extract('hour' from datetime_hour) as ride_hour,
    pulocationid as zone_id,
    total_rides as rides
from source
