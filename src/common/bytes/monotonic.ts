/** Converts `performance.now`, which counts from the start of the process, to the start of the machine. */
const offsetMs = Number(process.hrtime.bigint() / 1000n) / 1000 - performance.now();

/**
 * Milliseconds of a clock that is never set, the same in all processes of a machine. For durations and for times that
 * only this machine uses; after a restart of the machine they are meaningless.
 */
export const monotonicMs = (): number => performance.now() + offsetMs;
