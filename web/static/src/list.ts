/** The list of kept traces, which works without: what was done is told once. */

import { startBack } from "./back";
import { startSwitches } from "./theme";

startSwitches();
startBack();
