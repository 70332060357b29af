create table orders (id bigint, customer_id bigint, amount double, status varchar);
insert into orders values (1, 1, 10.0, 'ok'), (2, 2, 20.0, 'bad');
create table customers (id bigint, name varchar);
insert into customers values (1, 'Ann'), (2, 'Bob');
create table clean as
with ok as (select id, customer_id, amount from orders where status = 'ok')
select ok.id, c.name as customer, ok.amount * 2 as amount from ok join customers c on c.id = ok.customer_id;
create view big as select id, amount from clean where amount > 5;
create table totals (customer varchar, total double);
insert into totals (total, customer) select sum(amount), customer from clean group by customer;
create table top as select id from big order by amount desc limit 1;
insert into missing select * from orders;
alter table totals rename to totals_daily;
drop table customers;
drop view big
