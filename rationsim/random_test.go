package rationsim

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
	"os"
	"os/exec"
	"regexp"
	"testing"
)

// near reports whether a and b agree to n units of the last place or so.
func near(a, b, n float64) bool {
	return math.Abs(a-b) <= n*0x1p-52*max(math.Abs(a), math.Abs(b), 1e-300)
}

func TestExpAndLog(t *testing.T) {
	for x := -700.0; x < 700; x += 0.37 {
		if got, want := exp(x), math.Exp(x); !near(got, want, 8) {
			t.Errorf("exp(%v) = %v, want %v", x, got, want)
		}
	}
	for x := 1e-18; x < 1e18; x *= 1.0137 {
		got, want := log(x), math.Log(x)
		if math.Abs(got-want) > 1e-15*max(1, math.Abs(want)) {
			t.Errorf("log(%v) = %v, want %v", x, got, want)
		}
	}
}

func TestNormal(t *testing.T) {
	for _, tt := range []struct{ p, want float64 }{
		{0.5, 0},
		{0.75, 0.6744897501960817},
		{0.975, 1.959963984540054},
		{0.99, 2.3263478740408408},
		{0.01, -2.3263478740408408},
		{1e-10, -6.361340902404056},
	} {
		if got := normal(tt.p); math.Abs(got-tt.want) > 1e-14*max(1, math.Abs(tt.want)) {
			t.Errorf("normal(%v) = %v, want %v", tt.p, got, tt.want)
		}
	}
	for p := 0.0005; p < 1; p += 0.0005 {
		want := math.Sqrt2 * math.Erfinv(2*p-1)
		if got := normal(p); math.Abs(got-want) > 1e-13 {
			t.Errorf("normal(%v) = %v, want %v", p, got, want)
		}
	}
}

// Each bit must be the same on every machine. That reports are says little: they
// round to nanoseconds, under which a fused multiplication rarely shows.
func TestFunctionsRepeatToTheBit(t *testing.T) {
	sum := sha256.New()
	write := func(x float64) {
		var b [8]byte
		binary.LittleEndian.PutUint64(b[:], math.Float64bits(x))
		sum.Write(b[:])
	}
	s := newStream(1, purposeLatency)
	for i := range uint64(20_000) {
		u := max(s.at(i, 0), leastChance)
		write(u)
		write(log(u))
		write(exp(float64(100*u) - 50))
		write(normal(u))
		write(normal(float64(u * 0x1p-30)))
	}
	const want = "ff5a67e303bb03e140d9246a69cc94852300d96af3f92e753aee4d3fe04920e8"
	if got := hex.EncodeToString(sum.Sum(nil)); got != want {
		t.Errorf("the bits of all results hash to %s, want %s", got, want)
	}
}

// A stream must be even, and unlike its neighbours.
func TestStream(t *testing.T) {
	const n = 200_000
	s, other := newStream(1, purposeLatency), newStream(2, purposeLatency)
	var sum, square, across, lag float64
	last := 0.5
	for i := range uint64(n) {
		u, v := s.at(i, 1), other.at(i, 1)
		if u < 0 || u >= 1 {
			t.Fatalf("number %v is outside [0, 1)", u)
		}
		sum += u
		square += (u - 0.5) * (u - 0.5)
		across += (u - 0.5) * (v - 0.5)
		lag += (u - 0.5) * (last - 0.5)
		last = u
	}
	// Each bound is five standard deviations of what is estimated.
	for _, tt := range []struct {
		name             string
		got, want, sigma float64
	}{
		{"mean", sum / n, 0.5, math.Sqrt(1.0 / 12 / n)},
		{"variance", square / n, 1.0 / 12, math.Sqrt(1.0 / 180 / n)},
		{"correlation of two seeds", across / n, 0, 1.0 / 12 / math.Sqrt(n)},
		{"correlation with the last", lag / n, 0, 1.0 / 12 / math.Sqrt(n)},
	} {
		if math.Abs(tt.got-tt.want) > 5*tt.sigma {
			t.Errorf("%s is %v, want %v within %v", tt.name, tt.got, tt.want, 5*tt.sigma)
		}
	}
}

// No multiplication may be fused with an addition, or reports differ between
// machines: the compiler's own listing for one that can is asked.
func TestNothingIsFused(t *testing.T) {
	skipUnderRace(t)
	if testing.Short() {
		t.Skip("compiles the package")
	}
	build := exec.Command("go", "build", "-gcflags=-S", ".")
	build.Env = append(os.Environ(), "GOARCH=arm64", "CGO_ENABLED=0")
	listing, err := build.CombinedOutput()
	if err != nil {
		t.Skipf("the compiler does not run here: %v", err)
	}
	if !bytes.Contains(listing, []byte("FMULD")) {
		t.Fatal("the listing has no multiplication")
	}
	fused := regexp.MustCompile(`\((\S+:\d+)\)\s+FN?M(?:ADD|SUB)`)
	for _, at := range fused.FindAllSubmatch(listing, -1) {
		t.Errorf("%s: a multiplication is fused; convert its result to float64", at[1])
	}
}
