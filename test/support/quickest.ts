/**
 * Milliseconds of the quickest of several runs, without what other processes took meanwhile: the time that passed, or
 * that the processor worked for this process, whichever is less.
 */
export async function quickest(runs: number, work: () => unknown): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let i = 0; i < runs; i++) {
    const began = performance.now();
    const cpu = process.cpuUsage();
    await work();
    const { user, system } = process.cpuUsage(cpu);
    least = Math.min(least, performance.now() - began, (user + system) / 1000);
  }
  return least;
}
