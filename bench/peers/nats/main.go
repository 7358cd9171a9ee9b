// SPDX-License-Identifier: MIT

// push and pop+ack on a JetStream stream in a file: publish and wait for the answer;
// one pull consumer with explicit acks, answered by the server (double ack).
//
//	nats HOST:PORT CONNECTIONS SECONDS
package main

import (
	"context"
	"os"
	"strconv"
	"time"

	"bench/load"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

func main() {
	ctx := context.Background()
	count, err := strconv.Atoi(os.Args[2])
	load.Check(err)
	streams := make([]jetstream.JetStream, count)
	consumers := make([]jetstream.Consumer, count)
	for i := range streams {
		c, err := nats.Connect("nats://" + os.Args[1])
		load.Check(err)
		streams[i], err = jetstream.New(c)
		load.Check(err)
	}
	_, err = streams[0].CreateStream(ctx, jetstream.StreamConfig{Name: "bench", Subjects: []string{"bench"},
		Storage: jetstream.FileStorage, Retention: jetstream.WorkQueuePolicy})
	load.Check(err)
	for i := range consumers {
		consumers[i], err = streams[i].CreateOrUpdateConsumer(ctx, "bench", jetstream.ConsumerConfig{Durable: "bench",
			AckPolicy: jetstream.AckExplicitPolicy, MaxAckPending: -1})
		load.Check(err)
	}
	item := []byte(load.Item)
	load.Queue(os.Args[2], os.Args[3],
		func(lane int) bool {
			_, err := streams[lane].Publish(ctx, "bench", item)
			load.Check(err)
			return true
		},
		func(lane int) bool {
			m, err := consumers[lane].Next(jetstream.FetchMaxWait(200 * time.Millisecond))
			if err != nil {
				return false
			}
			load.Check(m.DoubleAck(ctx))
			return true
		})
}
