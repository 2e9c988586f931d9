package rationhttp_test

type limiterFunc func() bool

func (f limiterFunc) Allow() bool { return f() }
