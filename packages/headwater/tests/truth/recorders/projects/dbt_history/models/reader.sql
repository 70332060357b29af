select id, amount from {{ ref('appended') }}
