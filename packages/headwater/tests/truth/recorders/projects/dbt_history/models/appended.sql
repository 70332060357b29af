{{ config(materialized='incremental') }} select id, amount from {{ source('app', 'old') }}
