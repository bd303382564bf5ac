// The HTTP table without a node: messages that may pass also pass without one.
import * as t from './proxy_world.ts';
import { directly } from './scenarios/http.ts';

directly(t.originIp);
