interface Described {
  /** A sentence for the reference of settings. */
  readonly doc: string;
}

/** A whole number within bounds. */
export interface NumberSetting extends Described {
  readonly unit: 'bytes' | 'seconds' | 'milliseconds' | 'percent' | 'count';
  readonly minimum: number;
  readonly maximum: number;
  readonly default: number;
}

/** Text of a pattern; null by default where it may be left out. */
export interface TextSetting extends Described {
  /** One word for the reference. */
  readonly type: string;
  readonly pattern: string;
  /** The rest of a sentence about a value that does not match: `must be a host name`. */
  readonly wanted: string;
  readonly default: string | null;
}

/** Yes or no. */
export interface ToggleSetting extends Described {
  readonly default: boolean;
}

/**
 * A setting of a stage. Its flag, variable and YAML key follow from the stage's name and its own: `memoryBytes` of the
 * stage `cache` is `HEADGATE_CACHE_MEMORY_BYTES`. A custom plugin has it as an option of that name.
 */
export type StageSetting = NumberSetting | TextSetting | ToggleSetting;

export type StageSettings = Readonly<Record<string, StageSetting>>;

/** JSON Schema of options that are a stage's settings. */
export function optionsSchema(settings: StageSettings): Readonly<Record<string, unknown>> {
  const properties = Object.fromEntries(
    Object.entries(settings).map(([name, setting]) => [name, schemaOf(setting)]),
  );
  return { type: 'object', additionalProperties: false, properties };
}

function schemaOf(setting: StageSetting): object {
  const { default: fallback } = setting;
  if ('unit' in setting) {
    const { minimum, maximum } = setting;
    return { type: 'integer', minimum, maximum, default: fallback };
  }
  if (!('pattern' in setting)) return { type: 'boolean', default: fallback };
  const type = fallback === null ? ['string', 'null'] : 'string';
  return { type, pattern: setting.pattern, default: fallback };
}
