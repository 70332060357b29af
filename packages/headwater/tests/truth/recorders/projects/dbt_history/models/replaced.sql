{{ config(materialized='table') }} select id, amount from {{ source('app', 'old') }}
