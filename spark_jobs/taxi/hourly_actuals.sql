-- Rides per hour and pickup zone. Pickup times and hours are New York wall-clock times.
-- The zone has an alias, because without it, the listener loses the lineage of a grouping column.
SELECT
  CAST(date_trunc('hour', {pickup}) AS timestamp_ntz) AS datetime_hour,
  pulocationid AS pulocationid,
  count({pickup}) AS total_rides
FROM {raw}
WHERE {pickup} >= timestamp_ntz'{start}'
  AND {pickup} < timestamp_ntz'{end}'
  AND pulocationid IS NOT NULL
GROUP BY 1, 2
