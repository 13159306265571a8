import type { Logger } from '../../common/plugin-host/plugin.js';
import type { Settings } from '../../common/settings/settings.js';

/** Values for every part of the control process. */
export interface Base {
  readonly settings: Settings;
  readonly log: Logger;
  /** Lines of this process's log that were dropped. */
  readonly droppedLines: () => number;
}
