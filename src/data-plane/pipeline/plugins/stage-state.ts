import type { Shared } from '../../../common/ipc/shared.js';
import type { StageDeclaration } from '../../../common/plugin-host/plugin.js';
import {
  type Counter,
  maxKeyLength,
  maxValueLength,
  type SharedState,
  type StateKind,
  type Values,
} from '../../../common/plugin-host/shared-state.js';

/** The shared state that a stage declares, as its hooks use it. */
export function stateOf(stage: StageDeclaration, shared: Shared): SharedState {
  const find = <Kind extends StateKind['kind']>(kind: Kind, name: string): StateKind => {
    const declared = stage.state?.[name];
    if (declared?.kind !== kind)
      throw new TypeError(`state of ${stage.name} does not declare the ${kind} ${name}.`);
    return declared;
  };
  return {
    counter: (name) => counter(stage.name, name, find('counter', name), shared),
    values: (name) => values(stage.name, name, find('values', name), shared),
  };
}

function counter(stage: string, name: string, { seconds }: StateKind, shared: Shared): Counter {
  return {
    async add(key, amount = 1) {
      if (!Number.isSafeInteger(amount)) throw new TypeError('A counter adds whole numbers.');
      return shared.ask('state-add', { stage, name, key: checked(key), amount, ms: seconds * 1000 });
    },
  };
}

function values(stage: string, name: string, { seconds }: StateKind, shared: Shared): Values {
  return {
    async get(key) {
      const text = await shared.ask('state-get', { stage, name, key: checked(key) });
      return text === null ? undefined : (JSON.parse(text) as unknown);
    },
    set(key, value) {
      const text = JSON.stringify(value);
      if (text === undefined || text.length > maxValueLength)
        throw new TypeError(`A shared value is JSON of at most ${maxValueLength} characters.`);
      shared.send('state-set', { stage, name, key: checked(key), value: text, ms: seconds * 1000 });
    },
    delete: (key) => shared.send('state-set', { stage, name, key: checked(key), value: null, ms: 0 }),
  };
}

function checked(key: string): string {
  if (typeof key === 'string' && key.length <= maxKeyLength) return key;
  throw new TypeError(`A key of shared state is a string of at most ${maxKeyLength} characters.`);
}
