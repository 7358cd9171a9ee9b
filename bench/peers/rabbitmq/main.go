// SPDX-License-Identifier: MIT

// push and pop+ack on a quorum queue: publish and wait for the confirm; consume with a
// prefetch of one and ack.
//
//	rabbitmq HOST:PORT CONNECTIONS SECONDS
package main

import (
	"context"
	"os"
	"strconv"
	"time"

	"bench/load"

	amqp "github.com/rabbitmq/amqp091-go"
)

func main() {
	ctx := context.Background()
	count, err := strconv.Atoi(os.Args[2])
	load.Check(err)
	channels := make([]*amqp.Channel, count)
	deliveries := make([]<-chan amqp.Delivery, count)
	for i := range channels {
		c, err := amqp.Dial("amqp://guest:guest@" + os.Args[1] + "/")
		load.Check(err)
		channels[i], err = c.Channel()
		load.Check(err)
		load.Check(channels[i].Confirm(false))
		load.Check(channels[i].Qos(1, 0, false))
	}
	_, err = channels[0].QueueDeclare("bench", true, false, false, false, amqp.Table{"x-queue-type": "quorum"})
	load.Check(err)
	item := amqp.Publishing{DeliveryMode: amqp.Persistent, Body: []byte(load.Item)}
	load.Queue(os.Args[2], os.Args[3],
		func(lane int) bool {
			sent, err := channels[lane].PublishWithDeferredConfirmWithContext(ctx, "", "bench", false, false, item)
			load.Check(err)
			return sent.Wait()
		},
		func(lane int) bool {
			if deliveries[lane] == nil {
				d, err := channels[lane].Consume("bench", "", false, false, false, false, nil)
				load.Check(err)
				deliveries[lane] = d
			}
			select {
			case d := <-deliveries[lane]:
				load.Check(d.Ack(false))
				return true
			case <-time.After(500 * time.Millisecond):
				return false
			}
		})
}
