import { createHandler, refusalAt } from '../../../data-plane/pipeline/handle.js';
import { createNodeTransport } from '../../../data-plane/transport/node/node.js';
import type { Transport } from '../../../data-plane/transport/transport.js';
import { createUwsTransport } from '../../../data-plane/transport/uws/uws.js';
import { clientConnections, descriptorLimit } from '../../descriptors.js';
import type { ProcessPart } from '../../part-list.js';
import type { WorkerBase } from './base.js';
import type { PipelineGiven } from './pipeline.js';

export interface TransportGiven {
  readonly transport: Transport;
  readonly port: number;
}

/** The port of the data plane: from here on there are requests. */
export const transportPart: ProcessPart<WorkerBase & PipelineGiven, TransportGiven> = {
  name: 'port of the data plane',
  async start({ init, log, pipeline }) {
    const create = init.transport === 'uws' ? createUwsTransport : createNodeTransport;
    const transport = await create({
      handler: createHandler(pipeline),
      maxHeaderBytes: 80 * 1024,
      maxConnections: clientConnections(descriptorLimit()),
      writeTimeoutMs: init.writeTimeoutMs,
      refusal(error, path, asked) {
        const { id, headers, body } = refusalAt(path, asked, error, init.headerPrefixes);
        log.info({ request_id: id, code: error.code, path }, error.message);
        return { headers, body };
      },
      onProblem: (error, what) => log.warn({ err: error }, what),
    });
    return { transport, port: await listen(transport, init) };
  },
  drain({ pipeline, transport }) {
    pipeline.draining = true;
    transport.drain();
  },
  async stop({ pipeline, transport }) {
    pipeline.abandoned?.close();
    transport.close();
    // Calls cut by the close settle in this turn; the journal flushes when it closes.
    await new Promise((wait) => setTimeout(wait, 20));
  },
};

/** The worker that had the port before may take a moment to let go of it. */
async function listen(
  transport: Transport,
  { host, port, shared, isFirst, workers }: WorkerBase['init'],
): Promise<number> {
  for (let tries = 0; ; tries++) {
    try {
      return await transport.listen(host, port, shared, isFirst && workers === 1);
    } catch (error) {
      if (tries === 10) throw error;
      await new Promise((wait) => setTimeout(wait, 100));
    }
  }
}
