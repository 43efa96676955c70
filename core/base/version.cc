#include "core/base/version.h"

namespace penstock::core {

const char kVersion[] = PENSTOCK_VERSION;

}  // namespace penstock::core
