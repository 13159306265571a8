import type { Settings } from '../common/settings/settings.js';

/** What a command is given: the settings of flags, variables and file, read when first asked for. */
export interface CliContext {
  settings(): Settings;
}
