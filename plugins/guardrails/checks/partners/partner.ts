import { partnerOfCheck, partners } from '../../../../src/common/guardrails/partners.js';
import type { CheckParameters, CheckResult, RemoteCheck, RemoteContext } from '../../check.js';
import { requestTexts } from '../../texts/request-parts.js';
import { checkLength, failed, maxSentLength, postJson, ServiceFailed } from '../remote/calls.js';
import { isPlain } from '../request/values.js';

export type PartnerAnswer = Readonly<Record<string, unknown>>;

/** What a check asks its partner with. */
export class PartnerAsk {
  constructor(
    readonly context: RemoteContext,
    /** For messages. */
    readonly name: string,
  ) {}

  credential(field: string): string | undefined {
    return this.context.partner?.[field]?.reveal();
  }

  /** Throws where the organisation's plugin lacks it. */
  need(field: string): string {
    const text = this.credential(field);
    if (text === undefined) throw new ServiceFailed(`The plugin of ${this.name} has no ${field}.`);
    return text;
  }

  get key(): string {
    return this.need('apiKey');
  }

  get bearer(): Record<string, string> {
    return { authorization: `Bearer ${this.key}` };
  }

  /** The plugin's address, or the usual one. */
  base(usual: () => string): string {
    return (this.credential('baseUrl') ?? usual()).replace(/\/+$/, '');
  }

  /** The texts of the request, also where the answer is judged. */
  get requestText(): string {
    const { phase, text, format, body } = this.context;
    if (phase === 'before') return text;
    const read = body === null ? null : requestTexts(format, body);
    const judged = read === null ? '' : read.judged.map((part) => part.text).join('\n');
    return judged.slice(0, maxSentLength);
  }

  /** Sends JSON. Throws for anything but an object with a status of success. */
  async post(url: string, headers: Readonly<Record<string, string>>, body: unknown): Promise<PartnerAnswer> {
    const { status, json } = await postJson(this.context, url, headers, body);
    // What a partner answers with may have the text that it was sent: it is not shown.
    if (status < 200 || status > 299) throw new ServiceFailed(`${this.name} answered with status ${status}.`);
    if (!isPlain(json)) throw this.unexpected();
    return json;
  }

  /** The answer has not the form that the partner documents. */
  unexpected(): ServiceFailed {
    return new ServiceFailed(`${this.name} answered in a form that the gateway does not know.`);
  }
}

interface PartnerRules {
  readonly id: string;
  /** Changes text where one of these parameters is true; [] where it always does. */
  readonly redacts?: readonly string[];
  judge(ask: PartnerAsk, parameters: CheckParameters): Promise<CheckResult>;
}

/** A check that asks the service of a partner. Without text there is nothing to ask. */
export function partnerCheck({ id, redacts, judge }: PartnerRules): RemoteCheck {
  const partner = partnerOfCheck(id)!;
  const { name, needs } = partners.get(partner)!;
  return {
    ...{ id, runs: 'remote', partner },
    ...(needs.every((set) => set.length > 0) && { needsCredentials: true as const }),
    ...(redacts !== undefined && { transforms: true as const, transformsIf: redacts }),
    async run(context, parameters) {
      if (context.text.trim() === '') return { verdict: true, data: { explanation: 'There is no text.' } };
      try {
        checkLength(context.text);
        return await judge(new PartnerAsk(context, name), parameters);
      } catch (error) {
        return failed(error, `${name} could not be asked.`);
      }
    },
  };
}

/** Requests of one check that are open at a time. */
const maxOpen = 4;

/** What `ask` makes of each text that is not empty, in their order; null for the others. */
export async function eachText<T>(
  texts: readonly string[],
  ask: (text: string) => Promise<T>,
): Promise<(T | null)[]> {
  const made: (T | null)[] = texts.map(() => null);
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < texts.length) {
      const i = next++;
      if (texts[i]!.trim() !== '') made[i] = await ask(texts[i]!);
    }
  };
  await Promise.all(Array.from({ length: Math.min(maxOpen, texts.length) }, work));
  return made;
}

export const records = (value: unknown): readonly PartnerAnswer[] =>
  Array.isArray(value) ? value.filter(isPlain) : [];

/** Names whose value is true. */
export const trueNames = (value: unknown): string[] =>
  isPlain(value) ? Object.keys(value).filter((name) => value[name] === true) : [];

/** Numbers by name: scores, which may be shown. */
export const numbersIn = (value: unknown): Record<string, number> =>
  Object.fromEntries(
    Object.entries(isPlain(value) ? value : {}).filter(
      (entry): entry is [string, number] => typeof entry[1] === 'number',
    ),
  );

/** Slices of at most `most` characters, cut after white space where there is some; joined they are the text. */
export function slicesOf(text: string, most: number): string[] {
  const slices: string[] = [];
  for (let from = 0; from < text.length; ) {
    let to = Math.min(from + most, text.length);
    if (to < text.length) {
      const space = /\s\S*$/.exec(text.slice(from + (most >> 1), to));
      if (space !== null) to = from + (most >> 1) + space.index + 1;
      // A character of two halves stays whole.
      else if (/[\ud800-\udbff]/.test(text[to - 1]!)) to -= 1;
    }
    slices.push(text.slice(from, to));
    from = to;
  }
  return slices;
}
