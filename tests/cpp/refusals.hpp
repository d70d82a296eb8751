/// @file
/// Checks that an argument is refused, and that the message has the facts.
#pragma once

#include <doctest/doctest.h>

#include <initializer_list>
#include <stdexcept>
#include <string>

namespace testkit {

/// `action` must throw std::invalid_argument with all of these parts in its message.
template <class Action>
void check_refused(const Action& action, std::initializer_list<const char*> parts) {
  std::string message = "nothing was thrown";
  try {
    action();
  } catch (const std::invalid_argument& e) {
    message = e.what();
  }
  for (const char* part : parts) {
    CHECK_MESSAGE(message.find(part) != std::string::npos,
                  "\"" << message << "\" lacks \"" << std::string(part) << "\"");
  }
}

}  // namespace testkit
