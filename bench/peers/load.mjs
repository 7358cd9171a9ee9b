// SPDX-License-Identifier: MIT
// Keep so many workflows in flight and say how many ended: bench/peers/load/load.go in
// JavaScript, for the peers whose SDK that is.

export const INPUT = '{"name":"world","count":1,"note":"a step of a benchmark"}';
export const OUTPUT = "Hello, world, from a step of a benchmark";
export const STEPS = { hello: 1, chain: 10, fanout: 100 };

// The steps of a workload; step(i) is a promise of one.
export async function body(workload, step) {
  const steps = STEPS[workload];
  if (workload !== "fanout") {
    for (let i = 0; i < steps; i++) await step(i);
  } else {
    await Promise.all(Array.from({ length: steps }, (_, i) => step(i)));
  }
  return OUTPUT;
}

async function run(inFlight, seconds, one) {
  const took = [];
  const begin = performance.now(), end = begin + seconds * 1000;
  const lane = async () => {
    while (performance.now() < end) {
      const from = performance.now();
      await one();
      took.push(performance.now() - from);
    }
  };
  await Promise.all(Array.from({ length: inFlight }, lane));
  return [took.sort((a, b) => a - b), (performance.now() - begin) / 1000];
}

// Measures each "WORKLOAD:IN_FLIGHT"; start(id, workload) is a promise of its end.
export async function workflows(seconds, plans, start) {
  let number = 0;
  for (const plan of plans) {
    const [workload, inFlight] = plan.split(":");
    const one = () => start(`bench-${process.pid}-${++number}`, workload);
    const [took, s] = await run(Number(inFlight), Number(seconds), one);
    const at = (percent) => Math.round(1000 * took[Math.floor((took.length * percent) / 100)]);
    const per_s = took.length / s;
    console.log(JSON.stringify({ plan, done: took.length, per_s, steps_per_s: per_s * STEPS[workload], p50_us: at(50), p99_us: at(99) }));
  }
}
