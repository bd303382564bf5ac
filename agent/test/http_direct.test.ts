// The HTTP table without a node: what may pass would pass if there were none.
import * as t from './proxy_world.ts';
import { directly } from './scenarios/http.ts';

directly(t.originIp);
