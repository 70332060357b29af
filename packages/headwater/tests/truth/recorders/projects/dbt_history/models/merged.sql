{{ config(materialized='incremental', unique_key='id') }} select id, amount from {{ source('app', 'old') }}
