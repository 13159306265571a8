import { createRequire } from 'node:module';
import type * as undici from 'undici';

const load = createRequire(import.meta.url);

/**
 * The parts of undici that are used, each from its own file. Its index also loads fetch, WebSocket, caches and mocks:
 * 75 ms of CPU at each start of a data worker. The version is pinned, so that the paths stay valid.
 */
export const Client = load('undici/lib/dispatcher/client.js') as typeof undici.Client;
export const UndiciPool = load('undici/lib/dispatcher/pool.js') as typeof undici.Pool;
export const buildConnector = load('undici/lib/core/connect.js') as typeof undici.buildConnector;
export const { headerNameToString } = load('undici/lib/core/util.js') as typeof undici.util;
