package main

import (
	"strings"
	"testing"
)

// TestChanges: what a variant changes is told in the words of the file.
func TestChanges(t *testing.T) {
	tests := []struct{ change, want string }{
		{`edge: "*", policy: {attempts: 2, deadline: none, attemptTimeout: 1500ms}`,
			"every edge: policy.attempts 2, policy.deadline none, policy.attemptTimeout 1.5s"},
		{"edge: a -> b, policy: {ceiling: {multiple: 2.5, quantile: 0.9}, backoff: {jitter: equal, factor: 3}}",
			"edge a -> b: policy.ceiling.multiple 2.5, policy.ceiling.quantile 0.9, policy.backoff.factor 3, " +
				"policy.backoff.jitter equal"},
		{"edge: a -> b, policy: {breaker: {consecutiveFailures: none, failureRatio: 25%}}",
			"edge a -> b: policy.breaker.consecutiveFailures none, policy.breaker.failureRatio 25%"},
		{"edge: a -> b, policy: {breaker: {consecutiveFailures: 7}}",
			"edge a -> b: policy.breaker.consecutiveFailures 7"},
		{"edge: a -> b, policy: {breaker: {}}", "edge a -> b: policy.breaker"},
		{"edge: a -> b, optional: true, times: 3, obeyGiveUp: true, limiter: aws",
			"edge a -> b: limiter aws, obeyGiveUp true, times 3, optional true"},
		{"entry: users, clients: 4, load: {users: 9, think: 2m}", "entry users: clients 4, load.users 9, load.think 2m"},
		{"service: b, brownouts: [{from: 5s, for: 90s, slower: 2.5}, {from: 1s, for: 2s, slower: 3}]",
			"service b: brownouts {from 5s, for 1m30s, slower 2.5}, {from 1s, for 2s, slower 3}"},
		{"service: b, outages: [], failureRate: 0.125, concurrency: 5, order: lifo",
			"service b: failureRate 12.5%, concurrency 5, order lifo, outages none"},
	}
	for _, tt := range tests {
		c, err := readScenario("f.yaml", strings.NewReader(
			twoTiers+"variants:\n- name: x\n  set:\n  - {"+tt.change+"}\n"))
		if err != nil {
			t.Errorf("%s: %v", tt.change, err)
			continue
		}
		if got := c.topology.changes[0]; got != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", tt.change, got, tt.want)
		}
	}
}
