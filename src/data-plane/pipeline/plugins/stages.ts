import type { ControlPart } from '../../../common/plugin-host/control.js';
import type { Plugin, StageDeclaration } from '../../../common/plugin-host/plugin.js';
import type { StageName } from '../order.js';
import { declarations } from './declarations.js';

/** The default export of a file of a stage's folder. Found by the stage's name, so that only `order.ts` lists stages. */
async function exported<T>(stage: string, file: 'index' | 'control'): Promise<T> {
  const loaded = (await import(`../../../../plugins/${stage}/${file}.js`)) as { default: T };
  return loaded.default;
}

type Stage = StageDeclaration & { readonly name: StageName };

/** The declaration of each stage, in the order of the chain. */
export const stages = declarations as readonly Stage[];

/** Stages that custom plugins can be placed next to. */
export const places: readonly StageName[] = stages
  .filter(({ insertable }) => insertable !== false)
  .map(({ name }) => name);

/** The gateway's own plugins, in the order of the chain. For data workers. */
export function loadStages(): Promise<readonly Plugin<never, never>[]> {
  return Promise.all(stages.map(({ name }) => exported<Plugin<never, never>>(name, 'index')));
}

/** The parts of stages in the control process, with the names of their stages. */
export function loadControlParts(): Promise<
  readonly { readonly name: StageName; readonly start: ControlPart }[]
> {
  const having = stages.filter(({ control }) => control === true);
  return Promise.all(
    having.map(async ({ name }) => ({ name, start: await exported<ControlPart>(name, 'control') })),
  );
}
