/** Both count from the start of the machine and not from that of the process, which `performance.now` does. */
const offsetMs = Number(process.hrtime.bigint() / 1000n) / 1000 - performance.now();

/**
 * Milliseconds of a clock that is never set, the same in all processes of a machine. For durations and for moments that
 * only this machine looks at; after a restart of the machine they mean nothing.
 */
export const monotonicMs = (): number => performance.now() + offsetMs;
