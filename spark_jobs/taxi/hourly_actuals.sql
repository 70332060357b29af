-- Rides an hour and pickup zone. Pickup times are New York's wall clock, so are the hours.
SELECT
  CAST(date_trunc('hour', tpep_pickup_datetime) AS timestamp_ntz) AS datetime_hour,
  pulocationid,
  count(tpep_pickup_datetime) AS total_rides
FROM {raw}
WHERE tpep_pickup_datetime >= timestamp_ntz'{start}'
  AND tpep_pickup_datetime < timestamp_ntz'{end}'
  AND pulocationid IS NOT NULL
GROUP BY 1, 2
