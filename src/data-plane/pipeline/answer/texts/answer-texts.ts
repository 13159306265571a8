import type { Source } from '../../../../common/bytes/body.js';
import { BodyRecord } from '../../../../common/bytes/body-record.js';
import type { Attempt, Exchange } from '../../../../common/core/exchange.js';
import { textFormats } from '../../../../common/plugin-host/texts/text-formats.js';
import { chainOf } from '../../chain.js';
import type { Outgoing } from '../../outgoing/outgoing.js';
import type { Pipeline } from '../../parts.js';
import { TextStream } from './text-stream.js';

/** Passes the texts of a streamed answer to `text` hooks; null: there are no such hooks. */
export function answerTexts(
  pipeline: Pipeline,
  x: Exchange,
  { call }: Outgoing,
  attempt: Attempt,
): ((flow: Source, events: boolean) => Source) | null {
  const last = x.judge === null ? null : x.judge.text(x, call.target);
  const { text } = chainOf(pipeline, x);
  if (text === null && last === null) return null;
  const format = textFormats[x.endpoint.format]?.stream;
  if (format === undefined) return null;
  const hooks = last === null ? text! : [...(text ?? []), last];
  return (flow, events) => {
    const record = new BodyRecord(pipeline.limits.maxRecordBytes);
    attempt.received = record;
    return new TextStream(flow, x, format, hooks, events, record);
  };
}
