import { stages } from '../../data-plane/pipeline/plugins/stages.js';
import type { StageSetting } from '../plugin-host/stage-settings.js';
import { type SettingKind, text, toggle, whole } from './settings-kinds.js';
import type { Setting } from './settings-setting.js';

/** A setting of a stage, in the table of settings. */
export interface StageRow {
  readonly stage: string;
  /** Its name among the stage's settings. */
  readonly name: string;
  readonly setting: Setting<unknown, unknown>;
}

const kindOf = (declared: StageSetting): SettingKind<unknown> => {
  if ('unit' in declared) return whole(declared.unit, declared.minimum, declared.maximum);
  return 'pattern' in declared ? text(declared.type, declared.pattern, declared.wanted) : toggle;
};

/** Settings that the stages bring, by their keys: `memoryBytes` of `cache` is `cacheMemoryBytes`. */
export const stageRows: ReadonlyMap<string, StageRow> = new Map(
  stages.flatMap(({ name: stage, settings = {} }) =>
    Object.entries(settings).map(([name, declared]): [string, StageRow] => {
      const { default: fallback, doc } = declared;
      const setting = {
        kind: kindOf(declared),
        fallback,
        fallbackText: fallback === null ? 'none' : String(fallback),
        doc,
        env: null,
      };
      return [keyOf(stage, name), { stage, name, setting }];
    }),
  ),
);

function keyOf(stage: string, name: string): string {
  return `${stage}-${name}`.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
}
