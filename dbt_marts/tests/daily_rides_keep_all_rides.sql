-- The marts have as many rides as the source.
with mart as (select sum(rides) as rides from {{ ref('daily_rides') }}),
staged as (select sum(rides) as rides from {{ ref('stg_hourly_rides') }})
select mart.rides from mart cross join staged where mart.rides is distinct from staged.rides
