-- Rides an hour and pickup zone. Pickup times are New York's wall clock, so are the hours.
-- The zone has an alias, because the listener loses the lineage of a bare column that is grouped by.
SELECT
  CAST(date_trunc('hour', {pickup}) AS timestamp_ntz) AS datetime_hour,
  pulocationid AS pulocationid,
  count({pickup}) AS total_rides
FROM {raw}
WHERE {pickup} >= timestamp_ntz'{start}'
  AND {pickup} < timestamp_ntz'{end}'
  AND pulocationid IS NOT NULL
GROUP BY 1, 2
