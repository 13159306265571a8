import type { Upstream } from '../../data-plane/upstream/upstream.js';
import type { ProcessPart } from '../part-list.js';
import { PartList } from '../part-list.js';
import { adminPart } from './parts/admin.js';
import type { WorkerBase } from './parts/base.js';
import { bodiesPart } from './parts/bodies.js';
import { directoryPart } from './parts/directory.js';
import { journalPart } from './parts/journal.js';
import { pipelinePart } from './parts/pipeline.js';
import { pricesPart } from './parts/prices.js';
import { transportPart } from './parts/transport.js';
import { type UpstreamGiven, upstreamPart } from './parts/upstream.js';

/** What a request meets on its way, in the order in which it starts, with these connections to providers. */
const requestParts = (connections: ProcessPart<WorkerBase, UpstreamGiven>) =>
  PartList.given<WorkerBase>()
    .with(journalPart)
    .with(bodiesPart)
    .with(connections)
    .with(directoryPart)
    .with(pricesPart)
    .with(adminPart)
    .with(pipelinePart);

/** The parts of a data worker. */
export const workerParts = requestParts(upstreamPart).with(transportPart);

/** The same without a port, and with another way out than sockets: for tests and benchmarks. */
export const partsInProcess = (upstream: Upstream) =>
  requestParts({ name: 'upstream', start: () => ({ upstream }) });
