import type { FromWorker, WorkerInit } from '../../../common/ipc/messages.js';
import type { Shared } from '../../../common/ipc/shared.js';
import type { Logger, Plugin } from '../../../common/plugin-host/plugin.js';
import type { LookupChannel } from '../../../data-plane/directory/channel.js';

/** What every part of a data worker may use. */
export interface WorkerBase {
  readonly init: WorkerInit;
  readonly log: Logger;
  /** Questions to the control process. */
  readonly channel: LookupChannel;
  /** The state that stages share with other workers. */
  readonly shared: Shared;
  /** To the control process; `sent` is called when the system has taken the message. */
  readonly send: (message: FromWorker, sent: () => void) => void;
  /** Custom plugins that are loaded already, by name; absent: those of `plugins.directory`. */
  readonly plugins?: ReadonlyMap<string, Plugin>;
}
