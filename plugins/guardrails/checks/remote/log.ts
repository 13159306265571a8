import type { RemoteCheck } from '../../check.js';
import { failed, postJson, ServiceFailed } from './calls.js';
import { reportOf } from './webhook.js';

interface Log {
  readonly logURL: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Sends request and answer to a server. Always true, unless the server cannot be reached. */
export const log: RemoteCheck = {
  id: 'default.log',
  runs: 'remote',
  async run(context, parameters) {
    const { logURL, headers = {} } = parameters as unknown as Log;
    try {
      const { status } = await postJson(context, logURL, headers, reportOf(context, false));
      if (status < 200 || status > 299)
        throw new ServiceFailed(`The log server answered with status ${status}.`);
      return { verdict: true, data: { explanation: 'The request was logged.' } };
    } catch (error) {
      return failed(error, 'The request could not be logged.');
    }
  },
};
