import { Follower } from '../../src/control-plane/analytics/duckdb/follower.js';

/** A process that reads a ledger and rolls its days up, for tests that kill it. */
const follower = await Follower.open(process.argv[2] ?? '');
await follower.catchUp(Number.POSITIVE_INFINITY);
process.send?.('reads');
await follower.rollUp(Number.POSITIVE_INFINITY, 0);
await follower.close();
process.send?.('done');
process.disconnect?.();
