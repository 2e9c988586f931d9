/*
Ration prices a retry policy before it ships: it simulates a dependency in
trouble and compares what different policies make of it.

Usage:

	ration simulate [--preset NAME] [--policy FILE#NAME]... [--variant NAME]...
	                [--rivals] [--trace FILE] [--seed N] [--seeds N] [--json]
	                [--csv FILE] [--html FILE] [--svg DIRECTORY] [SCENARIO]
	ration simulate --chain [--seed N] [--json] [--html FILE]
	ration drill [--rate N] [--for DURATION] [--attempts N | --policy FILE#NAME]
	             [--metrics ADDRESS] [--serve ADDRESS] [--json]
	ration check FILE...
	ration explain FILE [NAME]
	ration help [TOPIC]
	ration version

The policies that are compared are real. The code that decides about each retry
in a simulation is the code that decides in production, and nothing else about
the simulation is: the clock, the random numbers and the dependency are made up,
and the output says how.

# The trade

Without arguments, simulate runs the preset trade. A dependency that usually
answers in 20 ms is eight times slower for one minute. The client gives up after
120 ms, three times, with and without a retry budget; the third column is the
default policy, whose attempt timeout follows what is normal.

	$ ration simulate
	Scenario trade, seed 1.

	The policies are real: the code that ships decides, on a simulated clock. The
	rest is a model, and nothing here is a real network.
	  arrivals      500 calls a second on average, at random (Poisson), whatever
	                becomes of them, for 5m
	  latency       log-normal through p50 20ms and p99 200ms, drawn anew for each
	                attempt
	  brownout      attempts that begin from 30s to 1m30s take 8 times as long
	  failures      none at random; a timeout is a failure, and transient
	  capacity      no limit: load does not slow the dependency down
	  timeouts      the caller gives the attempt up; whether the dependency works on
	                makes no difference, since it has no limit
	  clients       one process with one executor; nobody else uses the dependency
	  worst second  the most attempts per call in any one second while calls arrive:
	                attempts that begin in it, divided by calls that arrive in it
	                or, where that is more, in a second on average
	  latencies     of whole calls, failed ones too, with retries, waits and pauses
	  measured      from what succeeded in the last five minutes
	  recovered     from the end of the last trouble to the first arrival from which
	                on, for a second, every arriving call succeeds

	                       no budget      budget   default policy
	attempts at most               3           3                3
	deadline                     30s         30s              30s
	attempt timeout            120ms       120ms              10s
	measured ceiling             off         off          3 x p95
	backoff                100ms, x2   100ms, x2        100ms, x2
	budget                       off   10% + 3/s        10% + 3/s
	breaker                      off         off              off

	calls                    150,257     150,257          150,257
	succeeded                143,358     132,362          149,988
	failed                     6,899      17,895              269
	  attempts exhausted       6,899          46                3
	  budget exhausted             0      17,849              266
	attempts                 184,479     156,100          151,289
	availability              95.41%      88.09%           99.82%
	attempts per call          1.23x       1.04x            1.01x
	worst second               2.12x       1.11x            1.12x
	latency p50               26.8ms      26.8ms           26.8ms
	latency p90                244ms       220ms            181ms
	latency p99                573ms       252ms            793ms
	latency max                656ms       621ms            3.35s
	recovered after           3.55ms      3.55ms           3.55ms

	Compared with "no budget", "budget" cuts the worst second from 2.12x to 1.11x
	and costs 7.32 points of availability (95.41% to 88.09%); "default policy" cuts
	the worst second from 2.12x to 1.12x and gains 4.41 points of availability
	(95.41% to 99.82%).

The budget keeps the dependency's worst second near its usual load, and the
price is a share of calls that retries would have saved. The default policy does
not cut attempts short that are merely slow, and escapes most of the choice.

One seed is one sample. With --seeds the numbers become ranges, and policies
whose ranges do not overlap are apart:

	$ ration simulate --seeds 3
	Scenario trade, seeds 1 to 3.
	...

	                   no budget      budget   default policy
	attempts at most           3           3                3
	deadline                 30s         30s              30s
	attempt timeout        120ms       120ms              10s
	measured ceiling         off         off          3 x p95
	backoff            100ms, x2   100ms, x2        100ms, x2
	budget                   off   10% + 3/s        10% + 3/s
	breaker                  off         off              off

	                       min   median      max   against no budget
	availability
	  no budget         95.38%   95.41%   95.52%
	  budget            88.09%   88.14%   88.14%               apart
	  default policy    99.81%   99.82%   99.83%               apart
	attempts per call
	  no budget          1.23x    1.23x    1.23x
	  budget             1.04x    1.04x    1.04x               apart
	  default policy     1.01x    1.01x    1.01x               apart
	worst second
	  no budget          2.04x    2.05x    2.12x
	  budget             1.10x    1.10x    1.11x               apart
	  default policy     1.11x    1.12x    1.12x               apart
	latency p99
	  no budget          572ms    573ms    573ms
	  budget             251ms    251ms    252ms               apart
	  default policy     793ms    801ms    805ms               apart
	recovered after
	  no budget          578µs    689µs   3.55ms
	  budget             578µs    689µs   3.55ms            overlaps
	  default policy     578µs    689µs   3.55ms            overlaps

	By medians over 3 seeds, and compared with "no budget", "budget" cuts the worst
	second from 2.05x to 1.10x and costs 7.27 points of availability (95.41% to
	88.14%), both bands apart; "default policy" cuts the worst second from 2.05x to
	1.12x and gains 4.41 points of availability (95.41% to 99.82%), both bands
	apart.

# A scenario of your own

A scenario is a YAML or JSON file. "ration help scenario" explains every key.

	$ cat checkout.yaml
	# The card service does not answer for half a minute. Is a breaker worth having
	# beside the budget?
	name: checkout
	duration: 2m
	rate: 200
	dependency:
	  latency: {p50: 40ms, p99: 300ms}
	  outages:
	    - {from: 30s, for: 30s}
	policies:
	  - name: as it is
	    attemptTimeout: 1s
	    budget: {enabled: false}
	  - name: budget
	    attemptTimeout: 1s
	  - name: budget, breaker
	    attemptTimeout: 1s
	    breaker: {break: 5s}

	$ ration simulate checkout.yaml
	Scenario checkout, seed 1.
	...

	                        as it is      budget   budget, breaker
	attempts at most               3           3                 3
	deadline                     30s         30s               30s
	attempt timeout               1s          1s                1s
	measured ceiling         3 x p95     3 x p95           3 x p95
	backoff                100ms, x2   100ms, x2         100ms, x2
	budget                       off   10% + 3/s         10% + 3/s
	breaker                      off         off                on

	calls                     24,215      24,215            24,215
	succeeded                 18,208      18,182            13,735
	failed                     6,007       6,033            10,480
	  attempts exhausted       6,007          11                 3
	  budget exhausted             0       6,022                 0
	  unavailable                  0           0            10,477
	attempts                  36,306      24,372            13,794
	availability              75.19%      75.09%            56.72%
	attempts per call          1.50x       1.01x             0.57x
	worst second               3.06x       1.15x             1.01x
	latency p50                 55ms        58ms             100ms
	latency p90                190ms       106ms             100ms
	latency p99                287ms       276ms             251ms
	latency max                785ms       785ms             785ms
	breaker opened                 -           -                 4
	recovered after           1.57ms      1.57ms             22.2s

	Compared with "as it is", "budget" cuts the worst second from 3.06x to 1.15x and
	costs 0.10 points of availability (75.19% to 75.09%); "budget, breaker" cuts the
	worst second from 3.06x to 1.01x and costs 18.47 points of availability (75.19%
	to 56.72%).

A scenario that cannot be used is refused with the line, the key and what is
allowed there, and nothing is simulated:

	$ cat wrong.yaml
	duration: 2m
	rate: 200
	dependency:
	  latency: {p50: 40ms, p99: 300}
	policies:
	  - name: eager
	    atempts: 5

	$ ration simulate wrong.yaml
	wrong.yaml:4: dependency.latency.p99: 300 is not a duration such as 250ms, above 0 (and 1 more)

# Several services

A scenario may have many services, each with replicas, and who calls whom under
which policy. Each replica decides for itself, with its own budget. Presets show
what that leads to; "ration help presets" explains each.

Here a database is slow for twenty seconds. Without budgets the retries keep it
busy when it is well again: nothing succeeds for the rest of the run. Look at
the goodput afterwards, at what the database gets, and at the star, which marks
retries on behalf of requests that are themselves retried.

	$ ration simulate --preset metastable --seeds 2
	Scenario metastable, seeds 1 to 2.
	A database is slow for twenty seconds. Is the system well again when the
	database is?
	...

	no budget: every edge: no budget
	entry              available    over seeds    p99  recovered
	gateway               22.66%  22.56-22.76%  3.05s      never
	edge               per call   worst    over seeds       fails by
	gateway -> api        2.55x   4.90x    4.81-4.99x  attempts 100%
	api -> database *     2.82x  15.55x  15.24-15.86x  attempts 100%
	service             load   worst    over seeds  wasted  queue
	api                2.55x   4.90x    4.81-4.99x   0.00%      0
	database           7.20x  15.55x  15.24-15.86x  16.63%    750
	...

	                              min   median      max   against no budget
	availability
	  no budget                22.56%   22.66%   22.76%
	  budget                   87.85%   87.86%   87.88%               apart
	goodput afterwards
	  no budget                 0.00%    0.00%    0.00%
	  budget                   98.43%   98.48%   98.53%               apart
	...
	worst second at database
	  no budget                15.24x   15.55x   15.86x
	  budget                    1.79x    1.82x    1.85x               apart

	By medians over 2 seeds, and compared with "no budget", "budget" cuts the worst
	second at database from 15.55x to 1.82x and gains 65.20 points of availability
	(22.66% to 87.86%), both bands apart, and recovers in 2 of 2 runs against 0.

The floor of a budget is for each process, and a fleet has many. The floors of
500 pods allow 1,500 retries a second into an outage, besides what their buckets
start with. Divided by the pods, they allow what one was to allow.

	$ ration simulate --preset fleet --seeds 1
	Scenario fleet, seed 1.
	...
	  floor         pods -> database: 500 processes with a floor of 3/s each send up
	                to 1500 retries a second into a total outage, 60% of the 2503
	                calls a second there, after the 15000 with which their buckets
	                start
	...

	                           no budget   budget   budget, floor divided
	availability                  49.98%   49.89%                  49.85%
	goodput afterwards           100.00%   99.99%                  99.86%
	latency p99                    275ms    241ms                   156ms
	recovered after                414µs    414µs                   2.21s
	load of database               2.00x    1.35x                   1.00x
	load in the trouble            3.00x    1.69x                   1.00x
	worst second at database       3.03x    3.02x                   1.19x

	Compared with "no budget", "budget" cuts the worst second at database from 3.03x
	to 3.02x and costs 0.09 points of availability (49.98% to 49.89%); "budget,
	floor divided" cuts the worst second at database from 3.03x to 1.19x and costs
	0.13 points of availability (49.98% to 49.85%).

Other libraries have other rules. On the same storm, sorted by what they serve,
so that those above the budget are those that it loses to:

	$ ration simulate --rivals=aws,envoy,grpc,none --preset throttled --seeds 3
	Scenario throttled, seeds 1 to 3.
	...

	        available    over seeds    worst  over seeds   load
	none     88.38% ~  88.09-88.68%  2.40x -  2.32-2.52x  1.39x
	aws      88.16% ~  87.78-88.42%  1.77x -  1.74-1.86x  1.14x
	ration   88.09%    87.73-88.35%  1.45x    1.43-1.48x  1.08x
	envoy    88.00% ~  87.66-88.28%  1.12x +  1.07-1.16x  1.03x
	grpc     87.94% ~  87.59-88.22%  1.09x +  1.04-1.14x  1.00x

	+ better than ration, - worse, ~ the ranges over the seeds overlap

	Ration has 88.09% of availability and a worst second of 1.45x at partner. It
	loses to "envoy" (88.00%, 1.12x), "grpc" (87.94%, 1.09x) in one number and wins
	in none. It wins against "none", "aws" in one number at least and loses in none.

Retries multiply from service to service, and budgets add up instead. A server
that has given up may tell its caller, which then does not retry either:

	$ ration simulate --chain
	Scenario chain, seed 1.
	...

	         no budget  formula       budget  formula  loop broken  formula
	depth 1      3.00x    3.00x  1.10x (10%)    1.10x  1.10x (10%)    1.10x
	depth 2      9.00x    9.00x  1.19x (20%)    1.20x  1.10x (12%)    1.10x
	depth 3     27.00x   27.00x  1.29x (25%)    1.30x  1.10x (10%)    1.10x
	depth 4     81.00x   81.00x  1.38x (30%)    1.40x  1.10x (12%)    1.10x
	depth 5       243x     243x  1.46x (34%)    1.50x  1.10x (12%)    1.10x
	depth 6       729x     729x  1.55x (38%)    1.60x  1.10x (12%)    1.10x
	depth 7      2187x    2187x  1.63x (42%)    1.70x  1.10x (12%)    1.10x
	depth 8      6561x    6561x  1.70x (46%)    1.80x  1.10x (12%)    1.10x

	At depth 8 each call becomes 6561x attempts at the last service without budgets,
	1.70x with a budget in every caller, and 1.10x with the loop broken as well:
	retries multiply without budgets, add up with them, and stay at one caller's
	share where the loop is broken.

A file of your own has entries, where load comes in, services with their calls,
and variants, each of which changes something: "ration help scenario" has all
keys. With --csv the timelines go to a file, a row for each second of each edge
and service; --html makes a page of all this to send to others.

# What ships

A service loads its policies from a file, and this program reads the same file.
It checks it, says what a policy comes to at worst, and simulates it in place of
those that a scenario has. "ration drill --policy" puts it on real connections.

	$ cat policies.yaml
	budgets:
	  database: {fraction: 10%, minimumPerSecond: 3}
	policies:
	  orders:
	    attempts: 4
	    deadline: 2s
	    attemptTimeout: 500ms
	    budget: {shared: database}
	  reports:
	    preset: none

	$ ration check policies.yaml
	policies.yaml: 2 policies: orders, reports

	$ ration explain policies.yaml orders
	policy orders
	  attempts         4 in all
	  deadline         2s for the whole call
	  attempt timeout  500ms
	    tightened to   3 x p95 of recent successes, at least 50ms (cold: it needs 20 in five minutes)
	  backoff          from 100ms (throttled: 1s), factor 2, at most 30s, full jitter
	  budget           0.1 per success, 3 per second, at most 30, shared as "database"; 0% spent
	  breaker          none
	worst case: each attempt hangs, each wait is as long as it can be
	  attempt 1        0s to 500ms
	  wait             500ms to 600ms
	  attempt 2        600ms to 1.1s
	  wait             1.1s to 1.3s
	  attempt 3        1.3s to 1.8s
	  stop             at 1.8s: a wait of 400ms would meet the deadline
	  binds first      the deadline
	amplification
	  one call         at most 4 attempts
	  all calls        in any t seconds, retries <= 30 + 3 x t + 0.1 x successes
	  through a chain  about 1 + depth x 0.1 at the bottom, if every layer retries
	limits
	  little traffic   below about 1 calls a second the budget never binds; only attempts protects
	  many processes   the floor is per process: n of them may send n x 3 retries a second
	  long failures    while far more than 10% of attempts fail, callers see those failures
	a chain of hops that all retry like this, in attempts at its bottom per call
	  hops                 budgets      no budgets
	  1                      1.10x              4x
	  2                      1.20x             16x
	  3                      1.30x             64x
	  5                      1.50x          1,024x
	  8                      1.80x         65,536x

	$ ration simulate --policy policies.yaml#orders checkout.yaml
	...
	Compared with "no budget", "orders" cuts the worst second from 4.10x to 1.15x
	and costs 0.22 points of availability (75.31% to 75.09%).

# On real connections

A simulation is a model. The drill is not: it starts three servers on loopback,
each of which calls the next, with a retrying client in front, and makes the
last one fail. Four attempts at each of three arrows are 64.

	client -> frontend (HTTP) -> backend (gRPC) -> database (HTTP)

It takes most of a minute. The outage, the partial outage and the brownout are
each met without budgets, with them, and with the loop broken as well, where a
server that has given up tells its caller not to retry. "ration help drill" says
what is counted how. One run came to this; no two are the same:

	                              actions  at the database  amplification  succeeded
	outage, no budgets                400           25,600         64.00x      0.00%
	outage, budgets                   400              526          1.10x      0.00%
	outage, loop broken               400              441          1.03x      0.00%
	partial outage, no budgets        400              670          1.68x    100.00%
	partial outage, budgets           400              603          1.38x     91.50%
	partial outage, loop broken       400              470          1.10x     73.50%
	brownout, no budgets              400           25,237         63.09x      0.00%
	brownout, budgets                 400              535          1.14x      0.00%
	brownout, loop broken             400              441          1.03x      0.00%

Budgets hold each arrow to a tenth, and the arrows add up: three of them may
come to 1.39 attempts for each action. With the loop broken one arrow retries,
however many there are. In the partial outage that is not free, since the
retries that the others made were those that helped.

# For programs

With --json the output is one object. A number that does not exist, such as the
latency of no calls, is null.

	$ ration simulate --json --preset outage
	{
	  "scenario": "outage",
	  "seed": 1,
	  "duration_s": 120,
	  "runs": [
	    {
	      "name": "no budget",
	      "calls": 59867,
	      "succeeded": 44740,
	      "failed": 15127,
	      "attempts": 90406,
	      "availability": 0.7473232331668532,
	      "load_multiplier": 1.5101140862244642,
	      "amplification": 3.0326923076923076,
	      "latency_s": {
	        "p50": 0.030341562,
	        "p90": 0.178184962,
	        "p99": 0.267790692,
	        "max": 0.555860154
	      },
	      "breaker_opens": 0,
	      "time_to_recover_s": 0.00422012,
	      "stops": {
	        "succeeded": 44740,
	        "permanent": 0,
	...

The exit status is 0 when all went well, 1 when the output could not be written,
2 when the input cannot be used, with the reason on one line of standard error,
and 130 when interrupted. When standard error is a terminal, a run of more than
a second shows its progress there.
*/
package main
