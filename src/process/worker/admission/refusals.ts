import type { HeaderList } from '../../../common/http/headers.js';
import { uuidv7 } from '../../../common/text/id.js';
import { type Refused, refusalOf } from '../../../control-plane/administration/rest/refusal.js';
import { commonHeaders } from '../../../control-plane/administration/rest/request.js';
import type { Call } from '../../../data-plane/transport/transport.js';
import type { Exceeded } from './quota.js';

/** Refuses a call in the administration's format, without asking the control process. `traced` adds the trace. */
export function refuse(call: Call, error: Refused, traced: (headers: HeaderList) => HeaderList): void {
  const requestId = uuidv7();
  const { status, headers, body } = refusalOf(error, call, requestId);
  call.answer(status, traced([...headers, ...commonHeaders, 'x-request-id', requestId]), body);
}

const refused = (http: number, code: string, message: string): Refused => ({
  code,
  message,
  answered: { http },
});

export const unauthenticated = (message: string): Refused => refused(401, 'AB05', message);

export const unanswered: Refused = refused(
  503,
  'unavailable',
  'The administration plane does not answer: try again shortly.',
);

export const slowUpload: Refused = refused(408, 'AB01', 'The body took too long to arrive.');

export const badBody = (http: number, message: string): Refused => refused(http, 'AB01', message);

/** Seconds; room is usually free within milliseconds. */
const retryAfter = 1;

/** The refusals of calls above a limit. */
export const busy: Readonly<Record<Exceeded, Refused>> = {
  all: {
    ...refused(
      503,
      'unavailable',
      'The administration plane has as many calls open as it takes: send this one again in a second.',
    ),
    retryAfter,
  },
  key: {
    ...refused(
      429,
      'AB06',
      'This key has as many administration calls open as one key may: wait until some are answered.',
    ),
    retryAfter,
  },
  address: {
    ...refused(
      429,
      'AB06',
      'This address has as many administration calls open as it may without a key that was accepted before: wait until some are answered.',
    ),
    retryAfter,
  },
};
