1 |t good fine film
-1 2 |t bad dull film
1 'third|t good:2 |n len:0.5
-1 |t bad |n len:0.25
1 |t fine good
